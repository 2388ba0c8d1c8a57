import { useEffect } from 'react'
import { useConfig } from '../api/config.ts'
import { log } from '../lib/log.ts'

const injected = new Set<string>()

/** Adds the scripts that the operator has configured to the document's head, each once. */
export function useExtraScripts() {
  const { scripts } = useConfig()
  useEffect(() => {
    for (const { src, attributes = {} } of scripts ?? []) {
      if (injected.has(src)) continue
      injected.add(src)
      const script = document.createElement('script')
      for (const [name, value] of Object.entries(attributes)) script.setAttribute(name, value)
      script.src = src
      script.addEventListener('error', () => log.error(`Could not load the script ${src}`))
      document.head.append(script)
    }
  }, [scripts])
}
