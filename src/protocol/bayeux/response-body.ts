/**
 * The JSON text of a response's body. With `callback` the body may be a call of that function, `cb([...]);`, after a
 * comment, with which servers make it a script and nothing else. Comment and semicolon are optional. The Bayeux
 * Protocol 1.0, "The callback-polling response messages".
 */
export function selectResponseText(body: string, callback: string | undefined): string {
  // Servers send errors without the call of the function; some send everything without it.
  return callback === undefined ? body : (argumentOf(body, callback) ?? body);
}

/** The text between the parentheses; undefined if the text is not a call of `callback`. */
function argumentOf(body: string, callback: string): string | undefined {
  let text = body.trim();
  if (text.startsWith('/*')) {
    const commentEnd = text.indexOf('*/', 2);
    if (commentEnd < 0) return undefined;
    text = text.slice(commentEnd + 2).trimStart();
  }
  if (!text.startsWith(callback)) return undefined;
  text = text.slice(callback.length).trimStart();
  if (text.endsWith(';')) text = text.slice(0, -1).trimEnd();
  return text.length > 2 && text.startsWith('(') && text.endsWith(')') ? text.slice(1, -1) : undefined;
}
