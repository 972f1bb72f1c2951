/** The part of `faye` that the tests use, internals included, since the package has no types. */
declare module 'faye' {
  import type { IncomingMessage, Server } from 'node:http';
  import type { Socket } from 'node:net';

  export interface Message {
    channel: string;
    clientId?: string;
    connectionType?: string;
    data?: unknown;
    ext?: unknown;
    error?: string;
    successful?: boolean;
    subscription?: string | string[];
    advice?: { timeout?: number };
  }

  type Callback = (message: Message) => void;

  export interface ServerExtension {
    incoming(message: Message, request: IncomingMessage | null, callback: Callback): void;
    outgoing(message: Message, request: IncomingMessage | null, callback: Callback): void;
  }

  export interface ClientExtension {
    incoming(message: Message, callback: Callback): void;
    outgoing(message: Message, callback: Callback): void;
  }

  export class NodeAdapter {
    constructor(options: { mount: string; timeout: number });
    addExtension(extension: ServerExtension): void;
    attach(server: Server): void;
    close(): void;
    getClient(): Client;
    readonly _server: { readonly _engine: { destroyClient(clientId: string): void } };
  }

  export class Client {
    constructor(url: string, options?: { retry?: number });
    addExtension(extension: ClientExtension): void;
    connect(callback: () => void): void;
    disconnect(): PromiseLike<void>;
    publish(channel: string, data: unknown): PromiseLike<void>;
    subscribe(channel: string, callback: (data: unknown) => void): PromiseLike<void>;
    unsubscribe(channel: string): void;
    readonly _dispatcher: {
      readonly clientId?: string;
      readonly _transport?: { readonly _socket?: { readonly _stream: Socket } };
    };
  }

  const faye: { NodeAdapter: typeof NodeAdapter; Client: typeof Client };
  // biome-ignore lint/style/noDefaultExport: the shape of a CommonJS package.
  export default faye;
}
