"""What writes: the paper's numbers, sentences and tables, as LaTeX."""
