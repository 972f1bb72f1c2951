/**
 * Mutants of a source text, and the text with a switch for each of them.
 *
 * A mutant replaces `was`, the text between `start` and `end`, by `is`. `place` is the expression or statement around it
 * that its switch replaces: `(isOn(7) ? a <= b : a < b)`, or `{ if (!isOn(7)) stop(); }` for a statement that is removed.
 */
import { parseAst } from 'rolldown/parseAst';

const SWAPPED = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '&&': ['||'],
  '||': ['&&'],
};
const REMOVED = new Set(['AssignmentExpression', 'AwaitExpression', 'CallExpression', 'UpdateExpression']);
const CONDITIONAL = new Set(['ConditionalExpression', 'DoWhileStatement', 'IfStatement', 'WhileStatement']);
/** These only wrap an expression; every other node of TypeScript is a type. */
const WRAPPERS = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSParameterProperty', 'TSSatisfiesExpression']);
const LOGS = new Set(['CallExpression', 'ExpressionStatement']);
const LOG_CALL = /^(?:\w+\.)*#?logger\??\.\w+\(/;
const NOTHING = ';';

/** All mutants of a text. */
export function listMutants(text) {
  const found = [];
  const textOf = ({ start, end }) => text.slice(start, end);
  const add = (node, { start, end }, ...changes) => {
    const before = text.slice(0, start).split('\n');
    const source = text.split('\n')[before.length - 1].trim();
    const place = { start: node.start, end: node.end };
    for (const is of changes)
      found.push({ line: before.length, start, end, place, was: textOf({ start, end }), is, source });
  };
  const visit = (node) => {
    if (typeof node.type !== 'string' || node.type === 'ImportDeclaration') return;
    if (node.type.startsWith('TS') && !WRAPPERS.has(node.type)) return;
    if (LOG_CALL.test(textOf(node)) && LOGS.has(node.type)) return;
    mutate(node);
    for (const child of Object.values(node).flat()) if (child !== null && typeof child === 'object') visit(child);
  };
  const mutate = (node) => {
    const { type, left, right, test, expression, argument, value } = node;
    if ((type === 'BinaryExpression' || type === 'LogicalExpression') && SWAPPED[node.operator] !== undefined) {
      const isText = node.operator === '+' && [left, right].some((side) => /^['"`]/.test(textOf(side)));
      const gap = { start: left.end, end: right.start };
      const change = (operator) => textOf(gap).replace(node.operator, operator);
      if (!isText) add(node, gap, ...SWAPPED[node.operator].map(change));
    }
    if (CONDITIONAL.has(type)) add(test, test, `!(${textOf(test)})`);
    const isRemovable = type === 'ExpressionStatement' && REMOVED.has(expression.type);
    if (isRemovable && expression.callee?.type !== 'Super') add(node, node, NOTHING);
    if (type === 'ReturnStatement' && argument && textOf(argument) !== 'undefined')
      add(argument, argument, 'undefined');
    if (type === 'ArrowFunctionExpression' && node.expression) add(node.body, node.body, 'undefined');
    if (type === 'Literal' && typeof value === 'boolean') add(node, node, String(!value));
    if (type === 'Literal' && typeof value === 'number') add(node, node, String(value + 1));
  };
  visit(parseAst(text, { lang: 'ts' }));
  return found;
}

/** Whether a mutant is the text that it expects, has a meaning, and can be put in a switch: the key of a property cannot. */
export function isPossible(text, { start, end, was, place, is }) {
  if (text.slice(start, end) !== was) return false;
  const texts = [
    text.slice(0, start) + is + text.slice(end),
    withSwitches(text, [{ number: 0, start, end, place, is }]),
  ];
  try {
    for (const each of texts) parseAst(each, { lang: 'ts' });
    return true;
  } catch {
    return false;
  }
}

/** The text with a switch for each mutant: `isOn(number)` says whether it is on. At most one is on in a process. */
export function withSwitches(text, mutants) {
  const render = (start, end, within) => {
    let [result, from, rest] = ['', start, within];
    while (rest.length > 0) {
      const [outer, ...others] = rest;
      const { place } = outer;
      const inner = render(
        place.start,
        place.end,
        others.filter((other) => other.place.start < place.end),
      );
      result += text.slice(from, place.start) + toSwitch(text, outer, inner);
      from = place.end;
      rest = others.filter((other) => other.place.start >= place.end);
    }
    return result + text.slice(from, end);
  };
  // The outer one of two places comes first.
  const inOrder = mutants.toSorted((a, b) => a.place.start - b.place.start || b.place.end - a.place.end);
  return render(0, text.length, inOrder);
}

function toSwitch(text, { number, start, end, place, is }, inner) {
  if (is === NOTHING) return `{ if (!isOn(${number})) ${inner} }`;
  return `(isOn(${number}) ? (${text.slice(place.start, start)}${is}${text.slice(end, place.end)}) : (${inner}))`;
}

/** Fisher and Yates, with mulberry32 as the source of chance. */
export function shuffle(items, seed) {
  let state = seed;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [items[last], items[other]] = [items[other], items[last]];
  }
  return items;
}
