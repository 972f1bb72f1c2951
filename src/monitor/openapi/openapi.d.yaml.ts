/** openapi.yaml as the build and the tests read it (rolldown.config.js). */
interface Operation {
  readonly operationId: string;
}

export declare const DESCRIPTION: {
  readonly info: object;
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly 'x-shared': unknown;
};
