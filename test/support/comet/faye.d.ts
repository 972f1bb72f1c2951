/** The part of `faye` that a test uses, since the package has no types. */
declare module 'faye' {
  import type { Server } from 'node:http';

  export interface Message {
    channel: string;
    clientId?: string;
    successful?: boolean;
  }

  class NodeAdapter {
    constructor(options: { mount: string; timeout: number });
    addExtension(extension: {
      outgoing(message: Message, request: unknown, callback: (message: object) => void): void;
    }): void;
    attach(server: Server): void;
    close(): void;
    getClient(): { publish(channel: string, data: unknown): PromiseLike<void> };
  }

  const faye: { NodeAdapter: typeof NodeAdapter };
  // biome-ignore lint/style/noDefaultExport: the shape of a CommonJS package.
  export default faye;
}
