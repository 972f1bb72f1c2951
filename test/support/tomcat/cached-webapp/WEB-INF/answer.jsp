<%@ page session="false" trimDirectiveWhitespaces="true" contentType="application/json; charset=UTF-8"
    import="java.nio.charset.StandardCharsets, java.util.Map, java.util.UUID" %><%--
  Authenticates a call by the cached principal of its login cookie, else by its application key, else by its password. The field
  X-User names the user. Likewise for a Comet handshake.
--%><%!
  private static final Map<String, String> API_KEYS = Map.of("key-of-anna", "anna", "key-of-dana", "dana");
%><%
  String key = request.getHeader("X-API-Key");
  String user = request.getRemoteUser();
  if (user == null && key != null) user = API_KEYS.get(key);
  if (user == null) {
    if (!request.authenticate(response)) return;
    user = request.getRemoteUser();
  }
  response.setHeader("X-User", user);
  String body = new String(request.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
  out.print(body.contains("/meta/handshake")
      ? "[{\"channel\":\"/meta/handshake\",\"id\":\"1\",\"successful\":true,\"clientId\":\"" + UUID.randomUUID() + "\"}]"
      : "{}");
%>
