/**
 * Reads a Dockerfile into its instructions: those that this project's file has need of, in the forms that it uses. Anything else fails,
 * so that nothing in the file goes unrun. https://docs.docker.com/reference/dockerfile/
 */

/** Instruction -> how its arguments are read. */
const FORMS = {
  FROM: toFrom,
  ARG: toArg,
  ENV: toPairs,
  LABEL: toPairs,
  WORKDIR: toText,
  USER: toText,
  COPY: toCopy,
  RUN: toRun,
  EXPOSE: toText,
  HEALTHCHECK: toHealthCheck,
  ENTRYPOINT: toExec,
  CMD: toExec,
};

const COMMENT = /^\s*#/;
const VARIABLE = /\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g;
const HEALTH_OPTIONS = new Set(['interval', 'timeout', 'start-period', 'retries']);

/** `[{ line, name, value }]`, `line` counting from 1. Throws an Error that names the line. */
export function parseDockerfile(text) {
  return toLogicalLines(text).map(({ line, words }) => {
    const [, name = '', rest = ''] = /^\s*(\S+)\s*([\s\S]*)$/.exec(words) ?? [];
    const form = FORMS[name];
    if (form === undefined) throw new Error(`line ${line}: ${name}: not an instruction that can be run here`);
    try {
      return { line, name, value: form(rest.trim()) };
    } catch (error) {
      throw new Error(`line ${line}: ${name}: ${error.message}`);
    }
  });
}

/** `$NAME` and `${NAME}`; unlike Docker, which takes nothing for it, an unknown name fails. */
export function expand(text, variables) {
  return text.replaceAll(VARIABLE, (_, braced, bare) => {
    const name = braced ?? bare;
    if (!variables.has(name)) throw new Error(`${name} is not set`);
    return variables.get(name);
  });
}

/** Comments go, also those between the lines of one instruction; lines with a backslash at their end go together. */
function toLogicalLines(text) {
  const found = [];
  let open;
  for (const [index, physical] of text.split('\n').entries()) {
    const line = index + 1;
    if (COMMENT.test(physical)) {
      if (/^#\s*escape\s*=/i.test(physical)) throw new Error(`line ${line}: another escape is not known here`);
      continue;
    }
    if (physical.trim() === '') continue;
    const goesOn = /\\\s*$/.test(physical);
    const words = goesOn ? physical.replace(/\\\s*$/, '') : physical;
    if (open === undefined) open = { line, words };
    else open.words += words;
    if (goesOn) continue;
    found.push(open);
    open = undefined;
  }
  if (open !== undefined) throw new Error(`line ${open.line}: it has no end`);
  return found;
}

function toFrom(rest) {
  const [, image, , stage] = /^(\S+)(\s+AS\s+(\S+))?$/i.exec(rest) ?? [];
  if (image === undefined) throw new Error('expected an image, and perhaps AS with a name');
  return { image, stage };
}

function toArg(rest) {
  const [, name, , byDefault] = /^([A-Za-z_]\w*)(=(\S*))?$/.exec(rest) ?? [];
  if (name === undefined) throw new Error('expected NAME or NAME=default');
  return { name, byDefault };
}

/** `KEY=value` and `KEY="value with spaces"`. */
function toPairs(rest) {
  const pairs = [];
  const left = rest.replaceAll(/([\w.-]+)=(?:"([^"\\]*)"|([^\s"']*))(?:\s+|$)/g, (_, key, quoted, bare) => {
    pairs.push([key, quoted ?? bare]);
    return '';
  });
  if (pairs.length === 0 || left !== '') throw new Error('expected KEY=value, or KEY="value"');
  return pairs;
}

function toText(rest) {
  if (rest === '') throw new Error('expected words');
  return rest;
}

function toCopy(rest) {
  let from;
  let left = rest;
  for (let match = /^--(\S+?)=(\S+)\s+/.exec(left); match !== null; match = /^--(\S+?)=(\S+)\s+/.exec(left)) {
    if (match[1] !== 'from') throw new Error(`--${match[1]}: not known here`);
    from = match[2];
    left = left.slice(match[0].length);
  }
  const words = left.split(/\s+/);
  if (words.length < 2 || words.some((word) => /[*?["\\]/.test(word)))
    throw new Error('expected plain paths, at least one and where to');
  return { from, sources: words.slice(0, -1), target: words.at(-1) };
}

function toRun(rest) {
  if (/^--|<</.test(rest)) throw new Error('neither options nor here-documents are known here');
  return rest.startsWith('[') ? toExec(rest) : rest;
}

/** The form that needs no shell, and no other: this image has none. */
function toExec(rest) {
  let words;
  try {
    words = JSON.parse(rest);
  } catch {
    words = undefined;
  }
  if (!Array.isArray(words) || words.length === 0 || words.some((word) => typeof word !== 'string'))
    throw new Error('expected the form ["program", "argument"], since the image has no shell');
  return words;
}

function toHealthCheck(rest) {
  const [, options = '', command] = /^((?:--\S+\s+)*)CMD\s+([\s\S]+)$/.exec(rest) ?? [];
  if (command === undefined) throw new Error('expected CMD');
  for (const option of options.trim().split(/\s+/).filter(Boolean)) {
    const [, name = '', value = ''] = /^--([a-z-]+)=(\d+s?)$/.exec(option) ?? [];
    if (!HEALTH_OPTIONS.has(name) || value === '') throw new Error(`${option}: not known here`);
  }
  return toExec(command);
}
