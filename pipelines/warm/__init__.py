"""The driver's side of warm servers: started before an iteration, kept by a lease, taken down."""
