/**
 * `.dockerignore`: the last pattern that matches a path, or a folder above it, decides. Of the forms there are these: `*` and names,
 * with `!` for what is taken all the same. https://docs.docker.com/build/concepts/context/#dockerignore-files
 */
export function createIgnore(text) {
  const rules = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ isTaken: line.startsWith('!'), pattern: toPattern(line.replace(/^!/, '')) }));
  /** `path` from the folder of the build, with slashes; whether a build gets it. */
  return (path) => {
    const above = path.split('/').map((_, index, names) => names.slice(0, index + 1).join('/'));
    return rules.reduce(
      (isTaken, rule) => (above.some((one) => rule.pattern.test(one)) ? rule.isTaken : isTaken),
      true,
    );
  };
}

function toPattern(written) {
  if (/\*\*|[?[\]\\]/.test(written)) throw new Error(`.dockerignore: ${written}: not a form that is known here`);
  const plain = written.replace(/^\/|\/$/g, '').replaceAll(/[.+^${}()|]/g, '\\$&');
  return new RegExp(`^${plain.replaceAll('*', '[^/]*')}$`);
}
