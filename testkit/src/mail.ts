import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import PostalMime, { type Email } from 'postal-mime'

/** A received mail. */
export type ReceivedMail = {
  /** Addresses of the header `To`. */
  to: string[]
  from: string
  subject: string
  text: string
  html: string
  /** First URL in the text. */
  link: string
  /** The fully parsed mail. */
  email: Email
  /** Source text of the mail. */
  raw: string
}

/** Parses the source text of a mail. */
export async function parseMail(raw: Buffer): Promise<ReceivedMail> {
  const email = await PostalMime.parse(raw)
  const text = email.text ?? ''
  return {
    to: (email.to ?? []).map(({ address }) => address ?? ''),
    from: email.from?.address ?? '',
    subject: email.subject ?? '',
    text,
    html: email.html ?? '',
    link: /https?:\/\/\S+$/m.exec(text)?.[0] ?? '',
    email,
    raw: raw.toString(),
  }
}

/** Reads the mails in the outbox folder of a hub without a mail server, oldest first. */
export async function mailsIn(dataDir: string): Promise<ReceivedMail[]> {
  const folder = join(dataDir, 'outbox')
  const names = await readdir(folder).catch(() => [])
  const files = names.filter(name => name.endsWith('.eml')).sort()
  return Promise.all(files.map(async name => parseMail(await readFile(join(folder, name)))))
}
