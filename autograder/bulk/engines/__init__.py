"""What spreads a class over cores, GPUs and machines: the local engine and Dask, behind one executor."""
