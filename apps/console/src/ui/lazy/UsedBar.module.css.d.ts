declare const styles: {
  readonly share: string
}
export default styles
