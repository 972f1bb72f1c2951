/** Orders from the run to one of its processes, and their answers, over the channel that Node gives to a child. */

export interface Order {
  readonly number: number;
  readonly kind: string;
  readonly argument?: unknown;
}

export interface Answer {
  readonly number: number;
  readonly result?: unknown;
  readonly error?: string;
}

type Obey = (argument: unknown) => unknown;

/** Carries out orders until the parent is gone, then ends the process. Order number 0 tells the parent that the process is ready. */
export function obeyOrders(orders: Readonly<Record<string, Obey>>): void {
  process.on('message', ({ number, kind, argument }: Order) => {
    const answer = (rest: Omit<Answer, 'number'>) => process.send?.({ number, ...rest });
    Promise.resolve()
      .then(() => orders[kind]?.(argument))
      .then(
        (result) => answer({ result }),
        (cause: Error) => answer({ error: cause.stack ?? String(cause) }),
      );
  });
  process.on('disconnect', () => process.exit(0));
  process.on('SIGTERM', () => process.exit(0));
  process.send?.({ number: 0 });
}
