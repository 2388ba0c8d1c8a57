declare const styles: {
  readonly low: string
  readonly share: string
}
export default styles
