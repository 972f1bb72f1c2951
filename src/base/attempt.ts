/** What `read` returns; undefined if it throws. For what may be missing, e.g. files of /proc, and whose error says nothing. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
