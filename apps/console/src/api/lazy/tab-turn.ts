/** Interval in which the tab that has the turn says so, in milliseconds. */
const SAY_MS = 1_000
/** Silence after which another tab takes the turn, in milliseconds: three intervals. */
const SILENT_MS = 3_000
/** A tab that has just opened waits this long for the one that has the turn. */
const FIRST_MS = 150
/** Longest random delay before a free turn is taken, so that tabs seldom take it together. */
const SPREAD_MS = 150

type Message = { kind: 'held' | 'free' | 'ask'; tab: number }

/**
 * Runs `run` in one tab of this browser at a time, until `signal` aborts. It replaces `navigator.locks`, which need HTTPS or localhost. Of two
 * tabs that take the turn together, the one with the greater number gives it back, which aborts the signal of `run`. Calls `onOther` when
 * another tab has the turn.
 */
export function takeTurn(
  name: string,
  signal: AbortSignal,
  run: (over: AbortSignal) => void,
  onOther: () => void,
): void {
  const tab = Math.random()
  const channel = new BroadcastChannel(`${name}.turn`)
  let turn: AbortController | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const say = (kind: Message['kind']) => channel.postMessage({ kind, tab } satisfies Message)
  const after = (delayMs: number, next: () => void) => {
    clearTimeout(timer)
    timer = setTimeout(next, delayMs)
  }
  const hold = () => {
    say('held')
    after(SAY_MS, hold)
  }
  const take = () => {
    turn = new AbortController()
    hold()
    run(turn.signal)
  }
  const takeAfter = (delayMs: number) => after(delayMs + Math.random() * SPREAD_MS, take)
  const giveBack = () => {
    turn?.abort()
    turn = undefined
  }

  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (turn) {
      if (data.kind === 'held' && data.tab < tab) giveBack()
      else if (data.kind !== 'free') say('held')
    }
    if (turn) return
    if (data.kind === 'free') takeAfter(0)
    if (data.kind !== 'held') return
    onOther()
    takeAfter(SILENT_MS)
  }
  signal.addEventListener(
    'abort',
    () => {
      clearTimeout(timer)
      if (turn) say('free')
      giveBack()
      channel.close()
    },
    { once: true },
  )
  say('ask')
  takeAfter(FIRST_MS)
}
