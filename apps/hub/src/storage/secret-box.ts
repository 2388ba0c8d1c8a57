import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { InstanceKey } from '../credentials/instance-key.ts'

const ALGORITHM = 'aes-256-gcm'
const PURPOSE = 'stored secrets'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts secrets of others that the database keeps: AES-256-GCM with a key that follows from the instance's. Each is bound to the
 * row that it is for, so that it cannot be moved into another.
 */
export class SecretBox {
  readonly #key: Buffer
  readonly #previousKey: Buffer | undefined

  /** `previous` is the instance key before, which only opens. */
  constructor(key: InstanceKey, previous?: InstanceKey) {
    this.#key = key(PURPOSE)
    this.#previousKey = previous?.(PURPOSE)
  }

  /** Encrypts a text for the row of that id: nonce, tag and text in one. */
  seal(text: string, rowId: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(Buffer.from(rowId))
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), body])
  }

  /** The text, and whether it is still encrypted with the key before; nothing when neither key fits. */
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
