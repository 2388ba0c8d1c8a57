import {
  createCipheriv,
  createDecipheriv,
  createHash,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import { BackupError } from './backup-error.ts'

/** Parameters of scrypt. Deriving a key takes 128 MiB of memory and about 0.3 s. */
const COST = { N: 2 ** 17, r: 8, p: 1 }
const KEY_BYTES = 32
/** Bytes by which encryption makes a chunk longer: the authentication tag. */
export const TAG_BYTES = 16

/** Shape of the encryption in the header of a backup: the salt of its key, and a hash that recognizes the right passphrase. */
export const Encryption = z.object({
  salt: z.string().regex(/^[0-9a-f]{64}$/),
  check: z.string().regex(/^[0-9a-f]{64}$/),
})
/** Encryption in the header of a backup. */
export type Encryption = z.infer<typeof Encryption>

/** Encrypts or decrypts chunk number `index` of a file. The last chunk is encrypted differently, so that a cut is noticed. */
export type ChunkCipher = {
  encrypt(chunk: Buffer, index: number, isLast: boolean): Buffer
  /** Throws `BackupError` if the chunk was changed. */
  decrypt(chunk: Buffer, index: number, isLast: boolean): Buffer
}

/** Derives a fresh key from a passphrase. `withHeader` binds the chunks to the header of the file. */
export async function newEncryption(
  passphrase: string,
): Promise<{ encryption: Encryption; withHeader: (header: Buffer) => ChunkCipher }> {
  const salt = randomBytes(32)
  const { key, check } = await derive(passphrase, salt)
  return {
    encryption: { salt: salt.toString('hex'), check: check.toString('hex') },
    withHeader: header => chunkCipher(key, header),
  }
}

/** Opens an encrypted backup. Throws `BackupError` for a wrong passphrase. */
export async function openEncryption(
  { salt, check: expected }: Encryption,
  passphrase: string,
  header: Buffer,
): Promise<ChunkCipher> {
  const { key, check } = await derive(passphrase, Buffer.from(salt, 'hex'))
  if (!timingSafeEqual(check, Buffer.from(expected, 'hex')))
    throw new BackupError('The passphrase is not the one with which the backup was encrypted.')
  return chunkCipher(key, header)
}

async function derive(passphrase: string, salt: Buffer): Promise<{ key: Buffer; check: Buffer }> {
  const { N, r, p } = COST
  const bytes = await promisify<string, Buffer, number, object, Buffer>(scrypt)(
    passphrase,
    salt,
    2 * KEY_BYTES,
    { N, r, p, maxmem: 256 * N * r },
  )
  // The check is a hash of the other half of the bytes, so it says nothing about the key.
  return {
    key: bytes.subarray(0, KEY_BYTES),
    check: createHash('sha256').update(bytes.subarray(KEY_BYTES)).digest(),
  }
}

/** AES-256-GCM. Each file has a key of its own, so the number of the chunk is a nonce that never repeats. */
function chunkCipher(key: Buffer, header: Buffer): ChunkCipher {
  const nonce = (index: number, isLast: boolean): Buffer => {
    const bytes = Buffer.alloc(12)
    bytes.writeUIntBE(index, 0, 6)
    bytes[11] = isLast ? 1 : 0
    return bytes
  }
  return {
    encrypt(chunk, index, isLast) {
      const cipher = createCipheriv('aes-256-gcm', key, nonce(index, isLast)).setAAD(header)
      return Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()])
    },
    decrypt(chunk, index, isLast) {
      try {
        const end = chunk.length - TAG_BYTES
        const decipher = createDecipheriv('aes-256-gcm', key, nonce(index, isLast), {
          authTagLength: TAG_BYTES,
        })
          .setAAD(header)
          .setAuthTag(chunk.subarray(end))
        return Buffer.concat([decipher.update(chunk.subarray(0, end)), decipher.final()])
      } catch (cause) {
        throw new BackupError('The backup is damaged: an encrypted part of it was changed.', { cause })
      }
    },
  }
}
