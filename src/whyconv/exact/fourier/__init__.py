"""Fourier coefficients of a neuron over all 2^n inputs: five engines, and a front end that chooses one."""
