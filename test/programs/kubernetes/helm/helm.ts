/** Charts, rendered by render.go with Debian's libraries of Helm, and their values validated by values.schema.json. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { type Defer, temporaryFolder } from '../../../support/deferred.ts';
import { type Json, type Manifest, toManifests } from '../../../support/kubernetes/manifests.ts';
import { isAvailable } from '../../../support/programs.ts';

const LIBRARIES = '/usr/share/gocode';

export const canRender = isAvailable(
  'Helm’s engine in Go',
  spawnSync('go', ['version']).status === 0 &&
    ['github.com/Masterminds/sprig', 'sigs.k8s.io/yaml'].every((name) => existsSync(path.join(LIBRARIES, 'src', name))),
);

interface Rendered {
  readonly values: Readonly<Record<string, Json>>;
  readonly files: Readonly<Record<string, string>>;
  readonly error?: string;
}

export class Renderer {
  readonly #folder: string;
  readonly #program: string;

  constructor(defer: Defer) {
    this.#folder = temporaryFolder(defer);
    this.#program = path.join(this.#folder, 'render');
    const source = path.join(import.meta.dirname, 'render.go');
    const go = { GO111MODULE: 'off', GOFLAGS: '', GOPATH: LIBRARIES, GOCACHE: path.join(this.#folder, 'cache') };
    const env = { ...process.env, ...go };
    const { status, stderr } = spawnSync('go', ['build', '-o', this.#program, source], { env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`go build: ${stderr}`);
  }

  /** The manifests of a release called `plant`. Throws the complaints of a schema or a template. */
  render(chart: string, values: Json): readonly Manifest[] {
    const { files } = this.#run(chart, values);
    const manifests = Object.entries(files).filter(([file]) => !file.endsWith('NOTES.txt'));
    return manifests.flatMap(([file, text]) => toManifests(text, file));
  }

  notes(chart: string, values: Json): string {
    const { files } = this.#run(chart, values);
    return Object.entries(files).find(([file]) => file.endsWith('NOTES.txt'))?.[1] ?? '';
  }

  #run(chart: string, values: Json): Rendered {
    const file = path.join(this.#folder, 'values.yaml');
    // JSON is YAML without ambiguous strings.
    writeFileSync(file, JSON.stringify(values));
    const { status, stdout, stderr } = spawnSync(this.#program, [chart, file, 'plant'], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    const rendered = JSON.parse(stdout) as Rendered;
    // Like Helm: the schemas of all charts first.
    for (const [name, found] of Object.entries(rendered.values)) checkValues(path.join(chart, inner(name)), found);
    if (rendered.error !== undefined) throw new Error(rendered.error);
    return rendered;
  }
}

/** The folder within the outer chart, e.g. `charts/b` for `a/charts/b`. */
const inner = (name: string) => name.replace(/^[^/]*\/?/, '');

/** Throws the complaints of the chart's values.schema.json in `folder`. */
export function checkValues(folder: string, values: Json): void {
  const schema = path.join(folder, 'values.schema.json');
  if (!existsSync(schema)) return;
  const ajv = new Ajv({ allErrors: true, strict: false });
  const check = ajv.compile(JSON.parse(readFileSync(schema, 'utf8')));
  if (check(values)) return;
  const told = check.errors?.map(
    ({ instancePath, message, params }) => `${instancePath || '/'}: ${message} ${JSON.stringify(params)}`,
  );
  throw new Error(told?.join('\n'));
}
