"""What is known of the task ``signal`` without sampling: law, moments, risks, the Bayes rule."""
