"""Groups, advantages, routing to policies, and the group certificate."""
