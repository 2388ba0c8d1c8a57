let retry = () => {}

/** Sets the function that reconnects to the hub immediately. */
export function setRetry(next: () => void) {
  retry = next
}

/** Tries to connect immediately, instead of at the next planned time. */
export function tryNow() {
  retry()
}
