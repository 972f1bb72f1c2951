/** The part of `faye` that the tests use, internals included, since the package has no types. */
declare module 'faye' {
  import type { IncomingMessage, Server } from 'node:http';

  export interface Message {
    channel: string;
    clientId?: string;
    data?: unknown;
    successful?: boolean;
    subscription?: string | string[];
  }

  type Callback = (message: Message) => void;

  export interface ServerExtension {
    outgoing(message: Message, request: IncomingMessage | null, callback: Callback): void;
  }

  export class NodeAdapter {
    constructor(options: { mount: string; timeout: number });
    addExtension(extension: ServerExtension): void;
    attach(server: Server): void;
    close(): void;
    getClient(): Client;
  }

  export class Client {
    publish(channel: string, data: unknown): PromiseLike<void>;
  }

  const faye: { NodeAdapter: typeof NodeAdapter };
  // biome-ignore lint/style/noDefaultExport: the shape of a CommonJS package.
  export default faye;
}
