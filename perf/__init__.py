"""Reports from the result files of armq-conform and armq-bench."""
