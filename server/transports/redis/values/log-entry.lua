-- `logEntry(entry)` returns the sequence number, the expiry, and the number of bytes of the log before and up to an entry.
-- It is stored as its sequence number, time, expiry, number of bytes before it, and text, with spaces between them.

local function logEntry(entry)
  local sequence, expiresAt, start, position = string.match(entry, '^(%d+) %d+ (%d+) (%d+) ()')
  return tonumber(sequence), tonumber(expiresAt), tonumber(start), start + #entry - position + 1
end
