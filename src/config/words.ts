import { choicesAt, listKeys } from './schema-walk.ts';
import { type Group, setAt, valueAt } from './written.ts';

/** What YAML 1.1 reads as false or true, and tools such as Helm write as that. */
const WORDS: Readonly<Record<string, readonly string[] | undefined>> = { false: ['off', 'no'], true: ['on', 'yes'] };

/** Puts back the word that was written, e.g. `off` where `forwarded` is false; only where a key takes the word. */
export function restoreWords(group: Group): void {
  for (const { path } of listKeys()) {
    const value = valueAt(group, path);
    const words = typeof value === 'boolean' || typeof value === 'string' ? WORDS[`${value}`] : undefined;
    const word = words && choicesAt(path).find((choice) => words.includes(choice));
    if (word !== undefined) setAt(group, path, word);
  }
}
