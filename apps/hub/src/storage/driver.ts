import type { Readable } from 'node:stream'
import type { Expected } from './digest.ts'

/** A complete upload with the registered size and digest, not visible yet. */
export type Staged = {
  sha256: Buffer
  /** Makes the bytes the blob, durably and atomically. Called inside the transaction that sets the blob Available. */
  commit(): Promise<void>
  /** Deletes the bytes unless they were committed. */
  discard(): Promise<void>
}

/** Storage of blobs: the hub's folder or an object store. Names of blobs contain no text that a person entered. */
export type BlobDriver = {
  /** Size of a blob in bytes; undefined when it does not exist. */
  sizeOf(name: string): Promise<number | undefined>
  /**
   * Receives bytes while hashing them, with a few MiB in memory at most. Throws `WrongBytes` if they are not the registered ones,
   * `ActionError` if they cannot be stored, and leaves nothing behind then.
   */
  stage(name: string, expected: Expected, body: Readable, signal: AbortSignal): Promise<Staged>
  /** Reads a blob; throws when it cannot be read. */
  read(name: string, signal: AbortSignal): Promise<Readable>
  /** Deletes a blob; does nothing when it does not exist. */
  remove(name: string): Promise<void>
}
