type Methods = Record<string, (...values: unknown[]) => unknown>;

/** How many strings and matches `work` makes by methods of the runtime: unlike its time, the same on each machine. */
export function stringsMadeBy(work: () => unknown): number {
  let count = 0;
  const restore: (() => void)[] = [];
  const counted = (owner: object, ...names: string[]) => {
    for (const name of names) {
      const methods = owner as Methods;
      const original = methods[name] as Methods[string];
      restore.push(() => Object.assign(methods, { [name]: original }));
      methods[name] = function (this: unknown, ...values) {
        const made = original.apply(this, values);
        count += Array.isArray(made) && name === 'split' ? made.length : 1;
        return made;
      };
    }
  };
  counted(String.prototype, 'slice', 'split', 'trim', 'toLowerCase');
  // `test` and `replace` call it for each match.
  counted(RegExp.prototype, 'exec');
  counted(Buffer.prototype, 'toString');
  counted(globalThis, 'decodeURIComponent');
  try {
    work();
  } finally {
    for (const undo of restore) undo();
  }
  return count;
}
