import { createHmac, timingSafeEqual } from 'node:crypto'
import { ActionError } from '@muster/actions'
import type { InstanceKey } from '../credentials/instance-key.ts'

/** How long a signed address works, in seconds: as long as an upload of a newer client may take (catalogue 4.7). */
export const URL_LIFE_SECS = 2 * 60 * 60

/**
 * All downloads of a blob that are asked for within so many seconds get the same address, so that a cache in front keeps one copy for
 * all devices. It works for so much less than the others at worst.
 */
const SHARED_SECS = 15 * 60

/** What a signed address of the hub is for. */
export type BlobGrant = {
  purpose: 'upload' | 'verified-upload' | 'download'
  assetId: string
  /** Under which name a download is saved. */
  filename?: string | undefined
  /** In hex, of what is downloaded. */
  sha256?: string | undefined
}

/** What a signed address grants until then, in seconds since 1970. */
export type CheckedGrant = BlobGrant & { expires: number }

/** Signed addresses of the hub's own for the bytes of blobs: nothing in them can be changed, and they work for a while only. */
export class BlobUrls {
  readonly #key: Buffer
  readonly #publicUrl: string

  constructor(key: InstanceKey, publicUrl: string) {
    this.#key = key('blob addresses')
    this.#publicUrl = publicUrl
  }

  issue({ assetId, ...grant }: BlobGrant): string {
    const url = new URL(`/api/v1/blobs/${assetId}`, this.#publicUrl)
    const until = Math.floor(Date.now() / 1000) + URL_LIFE_SECS
    const expires = grant.purpose === 'download' ? until - (until % SHARED_SECS) : until
    for (const [name, value] of Object.entries({ ...grant, expires }))
      if (value !== undefined) url.searchParams.set(name, String(value))
    url.searchParams.set('signature', this.#sign({ ...grant, assetId }, expires).toString('base64url'))
    return url.href
  }

  /** What a request to such an address may do; throws `Forbidden` for what was not issued so or is over. */
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
    const signature = Buffer.from(text('signature') ?? '', 'base64url')
    const expected = this.#sign(grant, expires)
    if (signature.length !== expected.length || !timingSafeEqual(signature, expected))
      throw refused('This address was not issued by the hub.')
    if (expires * 1000 < Date.now()) throw refused('This address has expired: ask for another.')
    return { ...grant, expires }
  }

  /** What is absent stands in the signed list as `null`. */
  #sign({ purpose, assetId, filename, sha256 }: BlobGrant, expires: number): Buffer {
    const signed = JSON.stringify([purpose, assetId, filename, sha256, expires])
    return createHmac('sha256', this.#key).update(signed).digest()
  }
}

function refused(message: string): ActionError {
  return new ActionError('Forbidden', message)
}
