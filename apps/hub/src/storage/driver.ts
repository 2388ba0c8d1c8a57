import type { Readable } from 'node:stream'
import type { Expected } from './digest.ts'

/** Bytes that were received whole and are what was registered, not visible yet. */
export type Staged = {
  sha256: Buffer
  /** Makes them the blob, durably and at once; for inside the transaction that says so. */
  commit(): Promise<void>
  /** Drops them unless they were committed. */
  discard(): Promise<void>
}

/** A place where blobs lie: the hub's folder or an object store. A blob is found by a name that no text of a person is part of. */
export type BlobDriver = {
  /** How many bytes are there under a name; nothing when there is nothing. */
  sizeOf(name: string): Promise<number | undefined>
  /**
   * Receives bytes while hashing them. Throws `WrongBytes` for others than were registered, `ActionError` for a place that cannot
   * take them; leaves nothing behind then. Never more than a few MiB of them are in memory.
   */
  stage(name: string, expected: Expected, body: Readable, signal: AbortSignal): Promise<Staged>
  /** The bytes under a name; throws when they cannot be had. */
  read(name: string, signal: AbortSignal): Promise<Readable>
  /** Removes what is there, if anything is. */
  remove(name: string): Promise<void>
}
