"""What is made of results folders: the reader, the page of `reductio report`, the chart of `reductio plot --out`."""
