import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { InstanceKey } from '../credentials/instance-key.ts'

const ALGORITHM = 'aes-256-gcm'
const PURPOSE = 'stored secrets'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts secrets before they are stored in the database, such as access keys of object stores. Uses AES-256-GCM with a key derived
 * from the instance key. The row's id is authenticated, so that a ciphertext does not work in another row.
 */
export class SecretBox {
  readonly #key: Buffer
  readonly #previousKey: Buffer | undefined

  /** `previous` is the previous instance key, which is used for decryption only. */
  constructor(key: InstanceKey, previous?: InstanceKey) {
    this.#key = key(PURPOSE)
    this.#previousKey = previous?.(PURPOSE)
  }

  /** Encrypts a text for the row with this id. Returns nonce, tag and ciphertext in one buffer. */
  seal(text: string, rowId: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(Buffer.from(rowId))
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), body])
  }

  /** Decrypts a text. `isOld` means that only the previous key decrypts it. Returns undefined if neither key does. */
  open(sealed: Buffer, rowId: string): { text: string; isOld: boolean } | undefined {
    const text = decrypt(this.#key, sealed, rowId)
    if (text !== undefined) return { text, isOld: false }
    const old = this.#previousKey && decrypt(this.#previousKey, sealed, rowId)
    return old === undefined ? undefined : { text: old, isOld: true }
  }
}

function decrypt(key: Buffer, sealed: Buffer, rowId: string): string | undefined {
  const body = sealed.subarray(NONCE_BYTES + TAG_BYTES)
  try {
    const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(rowId))
      .setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([decipher.update(body), decipher.final()]).toString()
  } catch {
    return undefined
  }
}
