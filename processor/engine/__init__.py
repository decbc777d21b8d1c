"""The I/O: Faust fetches in chunks, one Kafka transaction publishes each batch, positions live in the state.

Law: outputs, changed rows and input positions are one transaction, and nothing else says where to go on.
"""
