-- The sidecar's measurements, as far as nginx with Lua can make them: a histogram for each RPC and a count for each user. Plain
-- tables of a single worker are the cheapest way; several workers would have to merge or share them.
local record = {}

local calls = 0
local histograms = {}
local names = {}
local users = {}
local counts = {}

local PATTERN = "^/smartWeb/api/rest/v0/d2/rpc/([^/?]+)/([^/?]+)"

local function nameOf(uri)
  local name = names[uri]
  if name == nil then
    local event, method = uri:match(PATTERN)
    name = event and event .. "." .. method or false
    names[uri] = name
  end
  return name
end

local function userOf(authorization)
  local user = users[authorization]
  if user == nil then
    local plain = ngx.decode_base64(authorization:sub(7)) or ""
    user = plain:match("^([^:]*):") or false
    users[authorization] = user
  end
  return user
end

-- In the log phase: the answer has been sent. Eight buckets for each doubling, for an error of 10 %.
function record.count()
  local name = nameOf(ngx.var.uri)
  if not name then return end
  calls = calls + 1
  local histogram = histograms[name]
  if not histogram then
    histogram = { count = 0, sum = 0, errors = 0, buckets = {} }
    histograms[name] = histogram
  end
  local seconds = tonumber(ngx.var.request_time) or 0
  local bucket = seconds <= 0 and 0 or math.floor(math.log(seconds * 1e6) * 11.54)
  histogram.count = histogram.count + 1
  histogram.sum = histogram.sum + seconds
  histogram.buckets[bucket] = (histogram.buckets[bucket] or 0) + 1
  if ngx.status >= 500 then histogram.errors = histogram.errors + 1 end
  local authorization = ngx.var.http_authorization
  local user = authorization and userOf(authorization)
  if user then counts[user] = (counts[user] or 0) + 1 end
end

function record.tell()
  ngx.say("calls ", calls)
  for name, histogram in pairs(histograms) do
    ngx.say(name, " ", histogram.count, " ", histogram.sum, " ", histogram.errors)
  end
  for user, count in pairs(counts) do ngx.say(user, " ", count) end
end

return record
