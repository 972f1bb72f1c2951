/**
 * Stand-ins for kubectl and helm, for commands that need no cluster: kustomize, which kubectl contains, and the engine and function
 * library of Helm (test/programs/kubernetes). Their output is validated by the published schemas of Kubernetes.
 */
import { cpSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { buildKustomization, type Json, type Manifest } from '../../support/kubernetes/manifests.ts';
import { validate } from '../../support/kubernetes/schemas.ts';
import { Renderer } from '../kubernetes/helm/helm.ts';

type Values = { [key: string]: Json };

export class Rendering {
  #renderer: Renderer | undefined;
  readonly #checkout: string;

  constructor(checkout: string) {
    this.#checkout = checkout;
  }

  close(): void {
    this.#renderer?.close();
  }

  /** Whether a command renders. `kubectl apply` sends its rendering, so rendering is as far as it goes here. */
  static takes(words: readonly string[]): boolean {
    const [program, verb = '', option] = words;
    if (program === 'kubectl') return verb === 'kustomize' || (verb === 'apply' && option === '-k');
    return program === 'helm' && ['install', 'upgrade', 'template', 'dependency'].includes(verb);
  }

  /** Throws the fault of a command, or of its rendering. */
  run(words: readonly string[]): void {
    if (words[0] === 'kubectl') this.build(words.at(-1) ?? '');
    else if (words[1] === 'dependency') this.#updateDependency(words.at(-1) ?? '');
    else this.#install(words.slice(2));
  }

  build(folder: string): void {
    check(buildKustomization(this.#at(folder)));
  }

  #at(file: string): string {
    return path.join(this.#checkout, file);
  }

  /** `helm dependency update` fetches dependencies, here from the folder beside the chart. */
  #updateDependency(chart: string): void {
    const { dependencies } = parse(readFileSync(path.join(this.#at(chart), 'Chart.yaml'), 'utf8')) as {
      dependencies: readonly { name: string; repository: string }[];
    };
    for (const { name, repository } of dependencies)
      cpSync(path.join(this.#at(chart), repository.replace('file://', '')), this.#at(`${chart}/charts/${name}`), {
        recursive: true,
      });
  }

  #install(options: readonly string[]): void {
    const names: string[] = [];
    let values: Values = {};
    for (let i = 0; i < options.length; i += 1) {
      const [option = '', value = options[i + 1] ?? ''] = (options[i] ?? '').split(/=(.*)/s);
      if (option === '--set') for (const pair of value.split(',')) set(values, pair);
      else if (option === '--values' || option === '-f') values = { ...values, ...this.#valuesOf(value) };
      else if (option === '--install') continue;
      else if (option.startsWith('-')) throw new Error(`${option}: the stand-in for helm does not know it`);
      else names.push(option);
      if (option.startsWith('-') && option === options[i]) i += 1;
    }
    this.#renderer ??= new Renderer();
    check(this.#renderer.render(this.#at(names.at(-1) ?? ''), values));
  }

  #valuesOf(file: string): Values {
    if (!existsSync(this.#at(file))) throw new Error(`there is no ${file}: no block before this one belongs to it`);
    return parse(readFileSync(this.#at(file), 'utf8')) as Values;
  }
}

function set(values: Values, pair: string): void {
  const [keys = '', value = ''] = pair.split(/=(.*)/s);
  const path_ = keys.split('.');
  const last = path_.pop() ?? '';
  let here = values;
  for (const key of path_) {
    here[key] ??= {};
    here = here[key] as Values;
  }
  here[last] = parse(value) as Json;
}

function check(manifests: readonly Manifest[]): void {
  if (manifests.length === 0) throw new Error('nothing was rendered');
  const faults = validate(manifests);
  if (faults.length > 0) throw new Error(faults.join('\n'));
}
