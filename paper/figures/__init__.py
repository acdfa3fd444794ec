"""What draws: the figures, each a function from results to a matplotlib figure, and their one look."""
