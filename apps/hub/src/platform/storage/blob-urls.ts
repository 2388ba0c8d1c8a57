import { createHmac, timingSafeEqual } from 'node:crypto'
import { ActionError } from '@muster/actions'
import type { InstanceKey } from '../credentials/instance-key.ts'

/** Validity of a signed URL: 2 h, in seconds. An upload may take as long. */
export const URL_LIFE_SECS = 2 * 60 * 60

/**
 * Download URLs of a blob that are issued within the same interval are equal, so that a cache in front of the hub keeps one
 * copy for all devices. The interval is 15 minutes, in seconds. A download URL is therefore valid for up to 15 minutes less
 * than an upload URL.
 */
const SHARED_SECS = 15 * 60

/** Permission that a signed URL of the hub grants. */
export type BlobGrant = {
  purpose: 'upload' | 'verified-upload' | 'download'
  assetId: string
  /** File name under which the browser saves a download. */
  filename?: string | undefined
  /** SHA-256 of the blob in hex, for downloads. */
  sha256?: string | undefined
  /** Person who requested the URL, for uploads. Undefined for a URL of a release that did not store it. */
  userId?: string | undefined
}

/** A verified permission. It expires at `expires`, in seconds since 1970. */
export type CheckedGrant = BlobGrant & { expires: number }

/** Signs and verifies the hub's own URLs for the bytes of blobs. Such a URL cannot be altered, and it expires. */
export class BlobUrls {
  readonly #key: Buffer
  readonly #publicUrl: string

  constructor(key: InstanceKey, publicUrl: string) {
    this.#key = key('blob addresses')
    this.#publicUrl = publicUrl
  }

  issue({ assetId, userId, ...grant }: BlobGrant): string {
    const url = new URL(`/api/v1/blobs/${assetId}`, this.#publicUrl)
    const until = Math.floor(Date.now() / 1000) + URL_LIFE_SECS
    const expires = grant.purpose === 'download' ? until - (until % SHARED_SECS) : until
    for (const [name, value] of Object.entries({ ...grant, expires }))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const signature = this.#sign({ ...grant, assetId }, expires)
    url.searchParams.set('signature', signature.toString('base64url'))
    // The person has a signature apart: a node of the release before checks the other one without it.
    if (userId !== undefined) {
      url.searchParams.set('user', userId)
      url.searchParams.set('user-signature', this.#signUser(userId, signature).toString('base64url'))
    }
    return url.href
  }

  /** Verifies the URL of a request and returns its permission. Throws `Forbidden` if the signature is wrong or the URL has expired. */
  check(
    purposes: readonly BlobGrant['purpose'][],
    assetId: string,
    query: Record<string, unknown>,
  ): CheckedGrant {
    const text = (name: string): string | undefined =>
      typeof query[name] === 'string' ? query[name] : undefined
    const purpose = purposes.find(purpose => purpose === query.purpose)
    const expires = Number(text('expires'))
    if (!purpose || !Number.isSafeInteger(expires)) throw refused('This address was not issued by the hub.')
    const grant: BlobGrant = { purpose, assetId, filename: text('filename'), sha256: text('sha256') }
    const expected = this.#sign(grant, expires)
    const userId = text('user')
    const isIssued =
      isSame(text('signature'), expected) &&
      (userId === undefined || isSame(text('user-signature'), this.#signUser(userId, expected)))
    if (!isIssued) throw refused('This address was not issued by the hub.')
    if (expires * 1000 < Date.now()) throw refused('This address has expired: ask for another.')
    return { ...grant, userId, expires }
  }

  /** Signs the fields in fixed positions: `JSON.stringify` writes an absent field as `null`. */
  #sign({ purpose, assetId, filename, sha256 }: BlobGrant, expires: number): Buffer {
    const signed = JSON.stringify([purpose, assetId, filename, sha256, expires])
    return createHmac('sha256', this.#key).update(signed).digest()
  }

  /** Signs the person of a URL with the other signature. */
  #signUser(userId: string, signature: Buffer): Buffer {
    const signed = JSON.stringify(['user', userId, signature.toString('base64url')])
    return createHmac('sha256', this.#key).update(signed).digest()
  }
}

function isSame(text: string | undefined, expected: Buffer): boolean {
  const signature = Buffer.from(text ?? '', 'base64url')
  return signature.length === expected.length && timingSafeEqual(signature, expected)
}

function refused(message: string): ActionError {
  return new ActionError('Forbidden', message)
}
