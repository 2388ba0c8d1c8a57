import type { Readable } from 'node:stream'
import type { Expected } from './digest.ts'

/** A complete upload with the registered size and digest, not visible yet. */
export type Staged = {
  sha256: Buffer
  /** Makes the bytes readable under the blob's name, durably and atomically. Called in the transaction that sets `Available`. */
  commit(): Promise<void>
  /** Deletes the bytes unless they were committed. */
  discard(): Promise<void>
}

/** Storage of blobs: the hub's folder, where a name is an asset id, or an object store, where it is an object key. */
export type BlobDriver = {
  /** Size of a blob in bytes; undefined when it does not exist. */
  sizeOf(name: string): Promise<number | undefined>
  /**
   * Receives and hashes bytes, with at most a few MiB in memory. Throws `WrongBytes` if they do not have the registered size or
   * digest, and `ActionError` or `S3Failure` if they cannot be stored. Leaves nothing behind when it throws.
   */
  stage(name: string, expected: Expected, body: Readable, signal: AbortSignal): Promise<Staged>
  /** Reads a blob; throws when it cannot be read. */
  read(name: string, signal: AbortSignal): Promise<Readable>
  /** Deletes a blob; does nothing when it does not exist. */
  remove(name: string): Promise<void>
}

/** Finds the driver for the place of a blob, and the blob's name in that place. Rejects if the object store was deleted. */
export type LocateBlob = (place: {
  assetId: string
  /** Null for the hub's folder. */
  storeId: string | null
  objectKey: string | null
}) => Promise<{ driver: BlobDriver; name: string }>
