import { useEffect, useState } from 'react'
import { announce } from '../lib/announce.ts'
import { copyText } from '../lib/clipboard.ts'

const SHOWN_MS = 2000

/** State and click handler of a copy button. The state is `copied` or `failed` for two seconds after a click, else `idle`. */
export function useCopy(text: string, onCopied?: () => void) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(setState, SHOWN_MS, 'idle')
    return () => clearTimeout(timer)
  }, [state])

  async function copy() {
    const copied = await copyText(text)
    setState(copied ? 'copied' : 'failed')
    announce(copied ? 'Copied' : 'Copying is not allowed here. Select the text and press Ctrl+C.')
    if (copied) onCopied?.()
  }
  return { state, copy }
}
