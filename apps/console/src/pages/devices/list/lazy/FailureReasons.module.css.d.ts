declare const styles: {
  readonly reason: string
  readonly reasons: string
}
export default styles
