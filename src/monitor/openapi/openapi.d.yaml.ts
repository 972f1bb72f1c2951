/** openapi.yaml as the build and the tests read it (rolldown.config.js). */
interface Operation {
  readonly operationId: string;
}

export interface Schema {
  readonly properties: Readonly<Record<string, object>>;
}

export declare const DESCRIPTION: {
  readonly info: object;
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<'Session' | 'Call' | 'SlowCall', Schema>>;
  };
  readonly 'x-shared': unknown;
};
