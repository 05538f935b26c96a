"""Lahoti et al., *Role of Locality and Weight Sharing in Image-Based Tasks*, from secondary sources."""
