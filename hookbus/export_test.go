package hookbus

// WriteNow writes the snapshot that is due.
func WriteNow(b *Bus) { b.keeper.write(Running) }
