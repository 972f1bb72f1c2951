<%@ page session="false" trimDirectiveWhitespaces="true" contentType="text/plain"
    import="java.security.MessageDigest" %><%--
  Answers each request with its own reading: method, target, length and SHA-1 of the body (- : not read).
--%><%
  String query = request.getQueryString();
  String target = request.getRequestURI() + (query == null ? "" : "?" + query);
  String body = "-";
  if (!"/early".equals(target)) {
    byte[] octets = request.getInputStream().readAllBytes();
    byte[] digest = MessageDigest.getInstance("SHA-1").digest(octets);
    StringBuilder hex = new StringBuilder();
    for (int i = 0; i < 6; i += 1) hex.append(String.format("%02x", digest[i]));
    body = octets.length + ":" + hex;
  }
  response.setHeader("X-Seen", request.getMethod() + " " + target + " " + body);
  response.getOutputStream().print("seen");
%>
