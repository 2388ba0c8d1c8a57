import type { ReadStream } from 'node:tty'

/** Maximum length of a typed text, in characters. Further characters are dropped. */
const MAX_LENGTH = 1024

type Terminal = { input: ReadStream; write: (text: string) => void; signal: AbortSignal }

/** Asks at a terminal for a text, without showing what is typed. Rejects when the signal is aborted, and at Ctrl+C. */
export async function askSecret(question: string, { input, write, signal }: Terminal): Promise<string> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let typed = ''
  const onData = (data: Buffer) => {
    for (const character of data.toString()) {
      if (character === '\r' || character === '\n' || character === '\x04') return resolve(typed)
      // In raw mode the terminal sends Ctrl+C as a character and not as a signal.
      if (character === '\x03') return reject(new Error('stopped by Ctrl+C'))
      if (character === '\x7f' || character === '\b') typed = typed.slice(0, -1)
      else if (typed.length < MAX_LENGTH) typed += character
    }
  }
  const onAbort = () => reject(signal.reason)
  const onEnd = () => resolve(typed)
  signal.addEventListener('abort', onAbort, { once: true })
  // Raw mode switches the echo off. The question is printed after that, so that a text that is pasted immediately is not shown.
  input.setRawMode(true)
  write(question)
  input.on('data', onData).once('end', onEnd).resume()
  try {
    return (await promise).trim()
  } finally {
    signal.removeEventListener('abort', onAbort)
    input.off('data', onData).off('end', onEnd).pause()
    input.setRawMode(false)
    write('\n')
  }
}
