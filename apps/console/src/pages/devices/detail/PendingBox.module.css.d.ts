declare const styles: {
  readonly comparison: string
  readonly decision: string
  readonly facts: string
  readonly fingerprint: string
  readonly more: string
}
export default styles
