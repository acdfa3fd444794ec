"""What writes: the paper's numbers and tables, as LaTeX."""
