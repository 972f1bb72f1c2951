/** `d2-sidecar print`: files of this version that people need, and that a single executable has inside. */
import { readProgramFile } from '../base/program-files.ts';
import { EXIT_FAILED, type Output } from './output.ts';

const FILES = {
  sample: 'config/sidecar.yaml',
  schema: 'config/schema.json',
  licences: 'dist/licences/licences.txt',
};

type Printed = keyof typeof FILES;

export const PRINTED = Object.keys(FILES) as readonly Printed[];

export function print(name: Printed, output: Output): number {
  try {
    output.out(readProgramFile(FILES[name]).toString());
    return 0;
  } catch {
    output.err(`d2-sidecar: this installation has no ${FILES[name]}\n`);
    return EXIT_FAILED;
  }
}
