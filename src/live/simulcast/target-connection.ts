import type { ConnectionFailure } from './connection-failure.js';
import type { Message } from './send-queue.js';

/** A connection to a service that has accepted the stream, whatever the protocol. */
export interface TargetConnection {
  /** Resolves when the connection is lost or the service has ended it. */
  readonly lost: Promise<ConnectionFailure>;
  /** The service has not taken yet what was sent, or the connection is ending. */
  readonly isBlocked: boolean;
  /** Called when `isBlocked` has become false. */
  onDrain: () => void;
  send(message: Message): void;
  /** Tells the service that the stream has ended; resolves when the connection is closed. */
  close(): Promise<void>;
}
