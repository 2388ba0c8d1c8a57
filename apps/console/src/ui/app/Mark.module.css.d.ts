declare const styles: {
  readonly shape: string
}
export default styles
