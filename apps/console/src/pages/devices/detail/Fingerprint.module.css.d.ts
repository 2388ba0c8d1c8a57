declare const styles: {
  readonly big: string
  readonly fingerprint: string
  readonly separator: string
}
export default styles
